// Written by tests/privacy/make_golden.py from dp-accounting 0.6.0.
#pragma once

namespace weft::privacy_golden {

constexpr double kDelta = 1e-05;

// Epsilons of both accountants at that delta.
struct Golden {
  const char* mechanisms;
  double renyi;
  double loss;  // on a grid of 1e-4
};

constexpr Golden kGolden[] = {
    {"gaussian(noise=0.7, steps=1)", 7.162778443058905, 6.652487892018983},
    {"subsampled_gaussian(noise=0.7, rate=0.001, steps=1)", 1.3324140072372082,
     0.041059331063873376},
    {"subsampled_gaussian(noise=0.7, rate=0.01, steps=1)", 2.1331063406652664,
     0.851644370853921},
    {"subsampled_gaussian(noise=0.7, rate=0.2, steps=1)", 5.036737907481463,
     4.498314419205361},
    {"gaussian(noise=0.7, steps=100)", 168.68859482403886, 162.09357478757818},
    {"subsampled_gaussian(noise=0.7, rate=0.001, steps=100)",
     1.5088779939315573, 0.3013605941114818},
    {"subsampled_gaussian(noise=0.7, rate=0.01, steps=100)", 3.148149607545705,
     2.367335490738684},
    {"subsampled_gaussian(noise=0.7, rate=0.2, steps=100)", 31.812358672748466,
     28.32757375365704},
    {"gaussian(noise=0.7, steps=1000)", 1234.2272371706974, 1213.0763000426607},
    {"subsampled_gaussian(noise=0.7, rate=0.001, steps=1000)",
     1.6531905373619535, 0.6089572494482087},
    {"subsampled_gaussian(noise=0.7, rate=0.01, steps=1000)", 5.423257444041017,
     4.618291445333158},
    {"gaussian(noise=1.1, steps=1)", 4.239640834979211, 3.9212502596926844},
    {"subsampled_gaussian(noise=1.1, rate=0.001, steps=1)", 0.48228664794668946,
     0.006666212585500298},
    {"subsampled_gaussian(noise=1.1, rate=0.01, steps=1)", 0.7751031255879707,
     0.14229070059724075},
    {"subsampled_gaussian(noise=1.1, rate=0.2, steps=1)", 2.4114888541720902,
     2.0613375828768894},
    {"gaussian(noise=1.1, steps=100)", 83.09977949943618, 79.27549552666991},
    {"subsampled_gaussian(noise=1.1, rate=0.001, steps=100)",
     0.5192904708692232, 0.04205976378593386},
    {"subsampled_gaussian(noise=1.1, rate=0.01, steps=100)", 0.9560911044993916,
     0.5497650958602305},
    {"subsampled_gaussian(noise=1.1, rate=0.2, steps=100)", 13.684424695149515,
     12.337078429478508},
    {"gaussian(noise=1.1, steps=1000)", 550.7290286666946, 534.8979801918423},
    {"subsampled_gaussian(noise=1.1, rate=0.001, steps=1000)",
     0.529549353292105, 0.12239918038752892},
    {"subsampled_gaussian(noise=1.1, rate=0.01, steps=1000)",
     1.7117701662429012, 1.5153702481094293},
    {"subsampled_gaussian(noise=1.1, rate=0.2, steps=1000)", 60.256217610143736,
     51.218743594360674},
    {"gaussian(noise=4.0, steps=1)", 1.0125506277526433, 0.9263415237343752},
    {"subsampled_gaussian(noise=4.0, rate=0.001, steps=1)", 0.04460897851051843,
     0.00043936613260709784},
    {"subsampled_gaussian(noise=4.0, rate=0.01, steps=1)", 0.04505582570500917,
     0.008044457940018962},
    {"subsampled_gaussian(noise=4.0, rate=0.2, steps=1)", 0.27171694609754454,
     0.22708398762686893},
    {"gaussian(noise=4.0, steps=100)", 14.132226163159334, 13.206712241909576},
    {"subsampled_gaussian(noise=4.0, rate=0.001, steps=100)",
     0.04502104249647306, 0.006061871233127313},
    {"subsampled_gaussian(noise=4.0, rate=0.01, steps=100)",
     0.08970576194554777, 0.07952390254661328},
    {"subsampled_gaussian(noise=4.0, rate=0.2, steps=100)", 2.298161740882599,
     2.102079607707296},
    {"gaussian(noise=4.0, steps=1000)", 67.42404047319576, 64.16881038099721},
    {"subsampled_gaussian(noise=4.0, rate=0.001, steps=1000)",
     0.04876707873242433, 0.021872240762398736},
    {"subsampled_gaussian(noise=4.0, rate=0.01, steps=1000)",
     0.3011611585547749, 0.2721729194472029},
    {"subsampled_gaussian(noise=4.0, rate=0.2, steps=1000)", 8.332766107331079,
     7.718020774199445},
    {"laplace(noise=0.5, steps=1)", 2.002824323870559, 1.999980000299997},
    {"laplace(noise=0.5, steps=50)", 89.88645159404389, 88.20144986918558},
    {"laplace(noise=2.0, steps=1)", 0.5028243238705594, 0.499980000299997},
    {"laplace(noise=2.0, steps=50)", 18.327318756451003, 17.47391338628393},
    {"laplace(noise=20.0, steps=1)", 0.05282432387055945, 0.04998000029999685},
    {"laplace(noise=20.0, steps=50)", 1.4120157988662307, 1.3072940354108693},
    {"subsampled_gaussian(noise=1, rate=0.02, steps=200) + laplace(noise=5) + "
     "gaussian(noise=8, steps=3)",
     2.4901183220422984, 2.1315599882806797},
};

}  // namespace weft::privacy_golden
